package rpm

import (
	"fmt"
	"strings"
	"testing"
)

// primaryText makes a primary.xml from lines "name [epoch:]version-release arch; requires=…; file=…; …".
func primaryText(t testing.TB, lines ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<metadata xmlns="%s" xmlns:rpm="%s" packages="%d">`+
		"\n", commonNS, rpmNS, len(lines))
	for i, l := range lines {
		parts := strings.Split(l, "; ")
		f := strings.Fields(parts[0])
		if len(f) == 2 {
			f = append(f, "noarch")
		}
		e := ParseEVR(f[1])
		fields := map[string][]string{}
		for _, x := range parts[1:] {
			k, v, _ := strings.Cut(x, "=")
			fields[k] = append(fields[k], v)
		}
		fmt.Fprintf(&b,
			`<package type="rpm"><name>%s</name><arch>%s</arch><version epoch="%s" ver="%s" rel="%s"/><checksum type="sha256" pkgid="YES">%064x</checksum>`+
				`<summary>s</summary><description>d</description><packager/><url/><time file="1" build="1"/><size package="1" installed="1" archive="1"/>`+
				`<location href="%s-%s-%s.%s.rpm"/><format><rpm:license>MIT</rpm:license><rpm:sourcerpm>s.src.rpm</rpm:sourcerpm><rpm:header-range start="1" end="2"/>`,
			f[0], f[2], orZero(e.Epoch), e.Version, e.Release, i+1, f[0], e.Version, e.Release, f[2])
		for _, kind := range []string{"provides", "requires", "conflicts", "obsoletes", "recommends", "supplements"} {
			if kind == "provides" {
				fields[kind] = append([]string{f[0] + " = " + f[1]}, fields[kind]...)
			}
			if len(fields[kind]) == 0 {
				continue
			}
			b.WriteString("<rpm:" + kind + ">")
			for _, text := range fields[kind] {
				d, err := ParseDep(text)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, `<rpm:entry name="%s"`, escape(d.Name))
				if d.Op != 0 {
					fmt.Fprintf(&b, ` flags="%s" epoch="%s" ver="%s"`, d.Op.flag(), orZero(d.EVR.Epoch), d.EVR.Version)
					if d.EVR.Release != "" {
						fmt.Fprintf(&b, ` rel="%s"`, d.EVR.Release)
					}
				}
				b.WriteString("/>")
			}
			b.WriteString("</rpm:" + kind + ">")
		}
		for _, p := range fields["file"] {
			b.WriteString("<file>" + p + "</file>")
		}
		b.WriteString("</format></package>\n")
	}
	b.WriteString("</metadata>\n")
	return b.String()
}

func index(t testing.TB, lines ...string) *Index {
	t.Helper()
	x := NewIndex("aarch64")
	if err := x.Add(strings.NewReader(primaryText(t, lines...)), "http://repo.test", DefaultPriority); err != nil {
		t.Fatal(err)
	}
	return x
}
