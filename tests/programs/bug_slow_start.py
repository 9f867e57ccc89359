"""Takes long to start: it looks for its settings in a thousand places before it says hello."""

def find_settings():
    for number in range(2000):
        try:
            with open(f"/nowhere/{number}/settings.ini") as file:
                return file.read()
        except OSError:
            pass
    return ""


find_settings()
print("hello")
