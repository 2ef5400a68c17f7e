"""How high the age may be: each bound in its module, and in ``choose`` the set-point and who decides it."""
