"""An HTTP server that translates: a queue, an API, limits and a page."""
