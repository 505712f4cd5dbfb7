/^agree:/!d
