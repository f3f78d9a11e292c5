package main

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Sizes in pixels.
const (
	fontSize = 18
	cjkSize  = 20 // so that a character nearly fills its two cells, as terminals set it
	lineGap  = 4
	margin   = 18 // around the screen
	corner   = 14
)

// pen draws screens cell by cell: each character stands where a terminal would put it, whatever its glyph's own width
// is.
type pen struct {
	regular, bold []face               // the first that has a character draws it
	keys          []face               // for a key that is pressed
	cw, ch, base  int                  // of a cell
	used          map[color.NRGBA]bool // colours of the picture that is drawn, but for the edges of letters
}

type face struct {
	font.Face
	has func(rune) bool
}

// newPen takes the fonts that are installed: DejaVu Sans Mono, and Noto's for what that lacks.
func newPen(dirs []string) (*pen, error) {
	p := &pen{}
	for _, f := range []struct {
		to         *[]face
		file, name string
		size       float64
	}{
		{&p.regular, "DejaVuSansMono.ttf", "", fontSize},
		{&p.regular, "NotoSansCJK-Regular.ttc", "Noto Sans Mono CJK SC", cjkSize},
		{&p.bold, "DejaVuSansMono-Bold.ttf", "", fontSize},
		{&p.bold, "NotoSansCJK-Bold.ttc", "Noto Sans Mono CJK SC", cjkSize},
		{&p.keys, "DejaVuSansMono-Bold.ttf", "", keySize},
	} {
		x, err := load(dirs, f.file, f.name, f.size)
		if err != nil {
			return nil, err
		}
		*f.to = append(*f.to, x)
	}
	adv, _ := p.regular[0].GlyphAdvance('M')
	m := p.regular[0].Metrics()
	p.cw, p.ch, p.base = adv.Round(), (m.Ascent+m.Descent).Ceil()+lineGap, m.Ascent.Ceil()+lineGap/2
	return p, nil
}

func load(dirs []string, file, name string, size float64) (face, error) {
	path := ""
	for _, d := range dirs {
		_ = filepath.WalkDir(d, func(p string, e fs.DirEntry, err error) error {
			if err == nil && e.Name() == file && path == "" {
				path = p
			}
			return nil
		})
	}
	if path == "" {
		return face{}, fmt.Errorf("the font %s is not installed (fonts-dejavu-core, fonts-noto-cjk)", file)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return face{}, err
	}
	c, err := opentype.ParseCollection(data)
	if err != nil {
		return face{}, fmt.Errorf("%s: %w", path, err)
	}
	for i := range c.NumFonts() {
		f, err := c.Font(i)
		if err != nil {
			return face{}, err
		}
		var buf sfnt.Buffer
		if full, _ := f.Name(&buf, sfnt.NameIDFamily); name != "" && full != name {
			continue
		}
		x, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return face{}, err
		}
		return face{x, func(r rune) bool { n, err := f.GlyphIndex(&buf, r); return err == nil && n != 0 }}, nil
	}
	return face{}, fmt.Errorf("%s has no %s", path, name)
}

// look is what a terminal adds to a screen.
type look struct{ back, text color.RGBA }

func dark() look  { return look{color.RGBA{0x15, 0x17, 0x1c, 255}, color.RGBA{0xe4, 0xe6, 0xeb, 255}} }
func light() look { return look{color.RGBA{0xfb, 0xfa, 0xf7, 255}, color.RGBA{0x24, 0x28, 0x30, 255}} }

// picture draws a screen of w×h cells.
func (p *pen) picture(content string, w, h int, l look) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w*p.cw+2*margin, h*p.ch+2*margin))
	p.used = map[color.NRGBA]bool{}
	p.uses(l.back)
	p.uses(l.text)
	rounded(img, l.back)
	p.cells(img, content, w, h, image.Pt(margin, margin), l)
	return img
}

// cells draws a screen of w×h cells at a place.
func (p *pen) cells(img *image.NRGBA, content string, w, h int, at image.Point, l look) {
	buf := uv.NewScreenBuffer(w, h)
	buf.Method = ansi.GraphemeWidth
	uv.NewStyledString(content).Draw(buf, buf.Bounds())
	for y := range h {
		for x := range w {
			if c := buf.CellAt(x, y); c != nil && c.Width > 0 {
				p.cell(img, c, at.X+x*p.cw, at.Y+y*p.ch, l)
			}
		}
	}
}

func (p *pen) cell(img *image.NRGBA, c *uv.Cell, x, y int, l look) {
	area := image.Rect(x, y, x+c.Width*p.cw, y+p.ch)
	fg, bg := color.Color(l.text), c.Style.Bg
	if c.Style.Fg != nil {
		fg = c.Style.Fg
	}
	if c.Style.Attrs&uv.AttrReverse != 0 {
		if bg == nil {
			bg = l.back
		}
		fg, bg = bg, fg
	}
	p.uses(fg)
	p.uses(bg)
	if bg != nil {
		draw.Draw(img, area, image.NewUniform(bg), image.Point{}, draw.Src)
	}
	if lines(img, c.Content, area, fg) {
		return
	}
	faces := p.regular
	if c.Style.Attrs&uv.AttrBold != 0 {
		faces = p.bold
	}
	for _, r := range c.Content {
		for i, f := range faces {
			if f.has(r) || i == len(faces)-1 {
				at := x
				if adv, ok := f.GlyphAdvance(r); ok { // in the middle of its cells
					at += max(0, (c.Width*p.cw-adv.Round())/2)
				}
				d := font.Drawer{Dst: img, Src: image.NewUniform(fg), Face: f, Dot: fixed.P(at, y+p.base)}
				d.DrawString(string(r))
				break
			}
		}
	}
}

func (p *pen) uses(c color.Color) {
	if c != nil {
		p.used[coarse(c)] = true
	}
}

// coarse is a colour without what nobody sees of it.
func coarse(c color.Color) color.NRGBA {
	x := color.NRGBAModel.Convert(c).(color.NRGBA)
	return color.NRGBA{x.R &^ 3, x.G &^ 3, x.B &^ 3, x.A}
}

// lines draws what is to join from cell to cell, which glyphs of fonts do not.
func lines(img *image.NRGBA, s string, a image.Rectangle, c color.Color) bool {
	fill := func(x0, y0, x1, y1 int) {
		draw.Draw(img, image.Rect(x0, y0, x1, y1), image.NewUniform(c), image.Point{}, draw.Src)
	}
	mx, my := (a.Min.X+a.Max.X)/2, (a.Min.Y+a.Max.Y)/2
	switch s {
	case "─":
		fill(a.Min.X, my, a.Max.X, my+1)
	case "━":
		fill(a.Min.X, my-1, a.Max.X, my+2)
	case "│":
		fill(mx, a.Min.Y, mx+1, a.Max.Y)
	case "▌":
		fill(a.Min.X, a.Min.Y, mx, a.Max.Y)
	case "█":
		fill(a.Min.X, a.Min.Y, a.Max.X, a.Max.Y)
	case "╭":
		fill(mx+3, my, a.Max.X, my+1)
		fill(mx, my+3, mx+1, a.Max.Y)
		fill(mx+1, my+1, mx+3, my+2)
		fill(mx, my+2, mx+2, my+3)
	case "╮":
		fill(a.Min.X, my, mx-2, my+1)
		fill(mx, my+3, mx+1, a.Max.Y)
		fill(mx-2, my+1, mx, my+2)
		fill(mx-1, my+2, mx+1, my+3)
	case "╰":
		fill(mx+3, my, a.Max.X, my+1)
		fill(mx, a.Min.Y, mx+1, my-2)
		fill(mx+1, my-1, mx+3, my)
		fill(mx, my-2, mx+2, my-1)
	case "╯":
		fill(a.Min.X, my, mx-2, my+1)
		fill(mx, a.Min.Y, mx+1, my-2)
		fill(mx-2, my-1, mx, my)
		fill(mx-1, my-2, mx+1, my-1)
	default:
		return false
	}
	return true
}

// rounded fills the picture but for its corners.
func rounded(img *image.NRGBA, c color.RGBA) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			dx, dy := max(corner-x, x-(b.Max.X-1-corner), 0), max(corner-y, y-(b.Max.Y-1-corner), 0)
			if dx*dx+dy*dy <= corner*corner {
				img.Set(x, y, c)
			}
		}
	}
}

// save writes a picture as PNG.
func (p *pen) save(path string, img image.Image) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(f, p.few(img))
}

// few gives the picture in 256 colours, which a third of the bytes hold: those that were used and the commonest of the
// edges of letters; the others take the nearest.
func (p *pen) few(img image.Image) image.Image {
	b := img.Bounds()
	count := map[color.NRGBA]int{}
	at := func(x, y int) color.NRGBA { return coarse(img.At(x, y)) }
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	for c := range p.used {
		count[c] += 1 << 30
	}
	all := slices.SortedFunc(maps.Keys(count), func(p, q color.NRGBA) int {
		return cmp.Or(count[q]-count[p], int(p.R)-int(q.R), int(p.G)-int(q.G), int(p.B)-int(q.B), int(p.A)-int(q.A))
	})
	var pal color.Palette
	for _, c := range all[:min(256, len(all))] {
		pal = append(pal, c)
	}
	near := map[color.NRGBA]uint8{}
	out := image.NewPaletted(b, pal)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := at(x, y)
			i, ok := near[c]
			if !ok {
				i = uint8(pal.Index(c))
				near[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	return out
}

// plain is a name for a file.
func plain(parts ...string) string { return strings.Join(parts, "-") + ".png" }
