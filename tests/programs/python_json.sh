# The tests that Python has of `json`.
. "$SCRIPT_FOLDER/python_module.inc"
python_module json
