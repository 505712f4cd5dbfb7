def run():
    s = ""
    u = ""
    for i in range(30000):
        s = s + str(i) + ","
        u = f"{u}{i};"
    print(len(s), len(u))


run()
