"""How properties are tested: the same examples each time here, others in `make nightly`."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None, max_examples=500)
settings.load_profile("steady")
