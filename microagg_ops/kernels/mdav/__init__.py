"""MDAV and its kin: branch and bound in a tree of boxes, or brute force."""
