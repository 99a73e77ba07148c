"""The shared library with the compiler and the files that it needs; `import dovetail` finds them."""
