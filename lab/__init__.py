"""The proof: simulated and real servers, loads, benches and the demo."""
