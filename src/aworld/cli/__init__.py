"""The command `aworld`: what a person does with runs from the shell."""
