"""Loads for a real server: ``load`` says which, ``sysbench`` runs it, ``reports`` is what it says."""
