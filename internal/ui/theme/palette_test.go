package theme

import (
	"fmt"
	"image/color"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/ui/widget"
)

// The sixteen colours as terminals have them: the VGA's (the Linux console), xterm's and PuTTY's.
func sixteen() map[string]string {
	return map[string]string{
		"vga": "000000 aa0000 00aa00 aa5500 0000aa aa00aa 00aaaa aaaaaa 555555 ff5555 55ff55 ffff55 5555ff ff55ff " +
			"55ffff ffffff",
		"xterm": "000000 cd0000 00cd00 cdcd00 0000ee cd00cd 00cdcd e5e5e5 7f7f7f ff0000 00ff00 ffff00 5c5cff ff00ff " +
			"00ffff ffffff",
		"putty": "000000 bb0000 00bb00 bbbb00 0000bb bb00bb 00bbbb bbbbbb 555555 ff5555 55ff55 ffff55 5555ff ff55ff " +
			"55ffff ffffff",
	}
}

// screens are the terminals that a palette is seen on: backgrounds, usual text, and the colours of its indices.
type screen struct {
	name  string
	backs []string
	text  string
	table string // of the sixteen; "" where no colour is one of them
}

func screens(c Colours, dark bool) []screen {
	if c == Sixteen {
		var out []screen
		for name, table := range sixteen() {
			if dark {
				out = append(out, screen{name, []string{"#000000"}, "#" + strings.Fields(table)[7], table})
			} else {
				out = append(out, screen{name, []string{"#ffffff"}, "#000000", table})
			}
		}
		return out
	}
	if dark {
		return []screen{{"dark", []string{"#000000", "#15171c", "#1e1e1e", "#282c34"}, "#cccccc", ""}}
	}
	return []screen{{"light", []string{"#ffffff", "#fbfaf7", "#fdf6e3"}, "#222222", ""}}
}

func (s screen) color(spec string) color.Color {
	if s.table != "" && !strings.HasPrefix(spec, "#") {
		var i int
		fmt.Sscan(spec, &i)
		spec = "#" + strings.Fields(s.table)[i]
	}
	return lipgloss.Color(spec)
}

func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	lin := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.03928 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
}

// contrast as WCAG 2 defines it.
func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// hue in degrees.
func hue(c color.Color) float64 {
	r32, g32, b32, _ := c.RGBA()
	r, g, b := float64(r32), float64(g32), float64(b32)
	hi, lo := max(r, g, b), min(r, g, b)
	var h float64
	switch d := hi - lo; {
	case d == 0:
		return math.NaN()
	case hi == r:
		h = math.Mod((g-b)/d+6, 6)
	case hi == g:
		h = (b-r)/d + 2
	default:
		h = (r-g)/d + 4
	}
	return 60 * h
}

func apart(a, b float64) float64 {
	d := math.Abs(a - b)
	return min(d, 360-d)
}

func eachPalette(t *testing.T, f func(t *testing.T, c Colours, p palette, s screen)) {
	for _, c := range []Colours{Millions, Hundreds, Sixteen} {
		for _, dark := range []bool{true, false} {
			for _, s := range screens(c, dark) {
				t.Run(fmt.Sprintf("%d-%s-%v", c, s.name, dark), func(t *testing.T) { f(t, c, paletteOf(c, dark), s) })
			}
		}
	}
}

// fields are a palette's colours by name.
func fields(p palette) map[string]string {
	out := map[string]string{}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		out[v.Type().Field(i).Name] = v.Field(i).String()
	}
	return out
}

// What is read can be read (WCAG 2 AA: 4.5:1), on every usual background and on the row that the keys act on.
func TestTextCanBeRead(t *testing.T) {
	eachPalette(t, func(t *testing.T, _ Colours, p palette, s screen) {
		backs := s.backs
		if _, cursor, ok := strings.Cut(p.Cursor, "/"); ok {
			backs = append(backs[:len(backs):len(backs)], cursor)
		}
		for name, spec := range fields(p) {
			fg, bg, own := strings.Cut(spec, "/")
			if name == "Border" || name == "Rest" || spec == "" || fg == "" { // lines that hold nothing to read
				continue
			}
			on := backs
			if own {
				on = []string{bg}
			}
			for _, b := range on {
				if got := contrast(s.color(fg), s.color(b)); got < 4.5 {
					t.Errorf("%s %s on %s: %.2f", name, fg, b, got)
				}
			}
		}
		if _, cursor, ok := strings.Cut(p.Cursor, "/"); ok {
			if got := contrast(s.color(s.text), s.color(cursor)); got < 4.5 {
				t.Errorf("text on the cursor's row: %.2f", got)
			}
		}
	})
}

// A state is told by a hue of its own: amber is no warning and no error, on no terminal.
func TestHuesMeanOneThing(t *testing.T) {
	eachPalette(t, func(t *testing.T, _ Colours, p palette, s screen) {
		seen := func(spec string) color.Color {
			fg, bg, own := strings.Cut(spec, "/")
			if own {
				return s.color(bg)
			}
			return s.color(fg)
		}
		hues := map[string]float64{"brand": hue(seen(p.Brand)), "good": hue(seen(p.Good)), "warn": hue(seen(p.Warn)),
			"bad": hue(seen(p.Bad)), "busy": hue(seen(p.Busy))}
		for a, x := range hues {
			for b, y := range hues {
				if a < b && !(apart(x, y) >= 28) {
					t.Errorf("%s (%.0f°) and %s (%.0f°) look alike", a, x, b, y)
				}
			}
		}
		for name, want := range map[string][2]float64{"brand": {25, 62}, "good": {110, 175}, "bad": {-10, 12}} {
			h := hues[name]
			if h > 340 {
				h -= 360
			}
			if h < want[0] || h > want[1] {
				t.Errorf("%s has the hue %.0f°, want %v", name, h, want)
			}
		}
	})
}

// Nothing is left for a terminal library to convert: each palette speaks in codes that its terminals have, and a
// terminal of sixteen colours gets no bold colour, which many draw as another one.
func TestNothingIsConverted(t *testing.T) {
	few, many := regexp.MustCompile(`^\x1b\[(7|([349][0-7]|10[0-7])(;(4[0-7]|10[0-7]))?)m$`),
		regexp.MustCompile(`^\x1b\[(1;)?((38|48);5;\d+;?)+m$`)
	for c, codes := range map[Colours]*regexp.Regexp{Sixteen: few, Hundreds: many,
		None: regexp.MustCompile(`^\x1b\[(1|7|1;4(;4)?)m$`)} {
		for _, dark := range []bool{true, false} {
			th := New(Options{Dark: dark, Colours: c})
			v := reflect.ValueOf(*th)
			for i := range v.NumField() {
				if !v.Type().Field(i).IsExported() {
					continue
				}
				k, is := v.Field(i).Interface().(widget.Ink)
				if is && k != "" && k != "\x1b[1m" && !codes.MatchString(string(k)) {
					t.Errorf("%d colours, dark %v: %s is %q", c, dark, v.Type().Field(i).Name, k)
				}
			}
			for _, code := range regexp.MustCompile(`\x1b\[[0-9;]+m`).FindAllString(th.Progress(10, 0.5), -1) {
				if !codes.MatchString(code) {
					t.Errorf("%d colours, dark %v: a bar has %q", c, dark, code)
				}
			}
		}
	}
}

func TestColoursOfTerminals(t *testing.T) {
	for env, want := range map[string]Colours{
		"TERM=xterm": Sixteen, "TERM=linux": Sixteen, "TERM=xterm-256color": Hundreds, "TERM=screen": Hundreds,
		"TERM=xterm-256color COLORTERM=truecolor": Millions,
		"TERM=xterm NO_COLOR=1":                   None,
	} {
		if got := ColoursOf(colorprofile.Env(strings.Fields(env))); got != want {
			t.Errorf("%s: %d, want %d", env, got, want)
		}
	}
	if ColoursOf(colorprofile.Unknown) != Millions {
		t.Error("a terminal of which nothing is known yet has all colours: the library takes away what it has not")
	}
}

// A bar is full when all is there and not before, empty only while nothing is, and as wide as it is said to be.
func TestABarIsFullWhenAllIsThere(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		th := New(Options{Dark: true, ASCII: ascii})
		for part, want := range map[float64]string{0: "----------", 0.001: "=---------", 0.5: "=====-----",
			0.999: "=========-", 1: "==========", 7: "==========", -1: "----------"} {
			got := strings.NewReplacer(th.Glyphs.BarFull, "=", th.Glyphs.BarRest, "-").Replace(
				ansi.Strip(th.Progress(10, part)))
			if got != want {
				t.Errorf("%g: %q, want %q", part, got, want)
			}
		}
		if th.Progress(0, 0.5) != "" {
			t.Error("a bar without room is not empty")
		}
		for _, f := range th.Spinner().Frames {
			if widget.Width(f) != 1 || ansi.StringWidth(f) != 1 {
				t.Errorf("the frame %q is not one cell wide", f)
			}
		}
	}
}
