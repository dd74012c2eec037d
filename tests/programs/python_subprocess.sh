# The tests that Python has of `subprocess`.
# label: long
. "$SCRIPT_FOLDER/python_module.inc"
python_module subprocess
