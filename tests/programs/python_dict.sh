# The tests that Python has of `dict`.
. "$SCRIPT_FOLDER/python_module.inc"
python_module dict
