"""An HTTP server for translation: a queue, an API, limits and a page."""
