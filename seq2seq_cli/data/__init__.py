"""From a corpus to padded batches: files, splits, tokenizers, pipeline. No models."""
