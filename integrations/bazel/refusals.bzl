"""What @loam//:malloc does not fit, by constraints that no platform has: Bazel names them."""

# Those that bring a malloc of their own, or see every call of it; and the feature for each.
SANITIZERS = {"address": "asan", "leak": "lsan", "memory": "msan", "thread": "tsan"}

def sanitizer_refusals():
    """The constraints for target_compatible_with, by flags and features of the command line."""
    native.constraint_setting(name = "sanitizer")
    refusals = []
    for sanitizer, feature in SANITIZERS.items():
        flag = "-fsanitize=" + sanitizer
        for option, value in {"copt": flag, "features": feature, "linkopt": flag}.items():
            # One of its own for each option: several may be given, and none may be listed twice.
            refusal = "the_%s_sanitizer_in_%s_needs_malloc_for_itself" % (sanitizer, option)
            native.constraint_value(name = refusal, constraint_setting = ":sanitizer")
            condition = "%s_sanitizer_in_%s" % (sanitizer, option)
            native.config_setting(name = condition, values = {option: value})
            refusals = refusals + select({
                ":" + condition: [":" + refusal],
                "//conditions:default": [],
            })
    return refusals
