// Requests to the page's own server. A new translation aborts the previous one.

export class RefusedError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class Client {
  constructor() {
    this.key = "";
    this.running = null;
  }

  /** Return the served runs, each with its directions, and the limits of a request. */
  async models() {
    return await this.ask("/v1/models", {});
  }

  /** Return the response to a translation request, or null if a later request aborted it. */
  async translate(request) {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    try {
      return await this.ask("/v1/translate", {
        method: "POST",
        body: JSON.stringify(request),
        signal: running.signal,
      });
    } catch (error) {
      if (running.signal.aborted) return null;
      throw error;
    }
  }

  async ask(path, options) {
    const headers = { "content-type": "application/json" };
    if (this.key) headers.authorization = `Bearer ${this.key}`;
    const response = await fetch(path, { ...options, headers });
    const answer = await response.json();
    if (!response.ok) throw new RefusedError(response.status, answer.error ?? response.statusText);
    return answer;
  }
}
