"""The claims of the paper that are checked: what each says, how it is measured, and by which rule it is judged."""
