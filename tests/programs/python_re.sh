# The tests that Python has of `re`.
. "$SCRIPT_FOLDER/python_module.inc"
python_module re
