"""The course: its pages, and what their code imports."""
