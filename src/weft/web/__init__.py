"""The UI's built files, and how they are served: `dist/` is made from /ui (TypeScript) by scripts/ui.py, never committed.

Each page of the UI is a path that anybody can share; all of them are the one `index.html`, which then looks at the path.
What Vite named by its content (`assets/`) never changes and is kept by browsers for good; the page itself is asked for
each time, and answered with 304 if it is the same. Without a bundle the API runs all the same, and `/` says what to do.
"""
