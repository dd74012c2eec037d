# The tests that Python has of `threading`.
. "$SCRIPT_FOLDER/python_module.inc"
python_module threading
