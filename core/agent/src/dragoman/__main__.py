"""``python -m dragoman``: the program, also where its script is not on the path."""

from dragoman.cli.main import main

main(prog_name="dragoman")
