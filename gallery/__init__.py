"""Every page in every state, for developers: ``/_gallery`` under development settings. The image does not have it."""
