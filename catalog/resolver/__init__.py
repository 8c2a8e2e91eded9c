"""The choice: every candidate judged, one order of preference, one answer that can be explained."""
