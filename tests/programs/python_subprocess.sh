# The tests that Python has of `subprocess`.
. "$SCRIPT_FOLDER/python_module.inc"
python_module subprocess
