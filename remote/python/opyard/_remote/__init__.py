"""Sessions over engines of distributed work: calls, maps, references and training on workers."""
