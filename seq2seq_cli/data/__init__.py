"""From a corpus to padded batches: sources, splits, tokenizers, pipeline. No models."""
