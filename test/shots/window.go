package main

import (
	"image"
	"image/color"
	"image/draw"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
)

// Sizes in pixels.
const (
	barHigh = 36
	dot     = 6  // radius
	keyBox  = 72 // the key that is pressed
	keySize = 44
)

// window is an empty window for the screens of a moving picture, with a title bar.
func (p *pen) window(l look) *image.NRGBA {
	w, h := movieWide*p.cw+2*margin, movieHigh*p.ch+2*margin+barHigh
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	bar, edge := color.RGBA{0x24, 0x28, 0x30, 255}, color.RGBA{0x4a, 0x50, 0x5c, 255}
	rounded(img, edge)
	shape := image.NewNRGBA(image.Rect(0, 0, w-2, h-2))
	rounded(shape, l.back)
	for y := range barHigh { // the bar takes the shape of the window
		for x := range w - 2 {
			if shape.NRGBAAt(x, y).A > 0 {
				shape.Set(x, y, bar)
			}
		}
	}
	draw.Draw(img, shape.Rect.Add(image.Pt(1, 1)), shape, image.Point{}, draw.Over)
	for i, c := range []color.RGBA{{0xe0, 0x6c, 0x60, 255}, {0xe0, 0xb0, 0x50, 255}, {0x6c, 0xb8, 0x6c, 255}} {
		p.uses(c)
		disc(img, margin+dot+i*22, barHigh/2, dot, c)
	}
	p.uses(bar)
	p.uses(edge)
	p.uses(l.back)
	p.uses(l.text)
	return img
}

// draw puts a still into the window: the screen, its caption in the title bar, and the key that is being pressed.
func (p *pen) draw(img *image.NRGBA, s still, l look) {
	p.cells(img, s.content, movieWide, movieHigh, image.Pt(margin, margin+barHigh), l)
	b := img.Bounds()
	p.write(img, s.caption, (b.Dx()-ansi.StringWidth(s.caption)*p.cw)/2, (barHigh-p.ch)/2, l.text)
	if s.key != "" {
		p.key(img, s.key, b.Dx()-keyBox-14*p.cw, b.Dy()-keyBox-9*p.ch, l) // where the panel has room
	}
}

// key draws a key of a keyboard.
func (p *pen) key(img *image.NRGBA, key string, x, y int, l look) {
	face := color.RGBA{0xf0, 0xb4, 0x3c, 255}
	p.uses(face)
	cap := image.NewNRGBA(image.Rect(0, 0, keyBox, keyBox))
	rounded(cap, face)
	draw.Draw(img, image.Rect(x, y, x+keyBox, y+keyBox), cap, image.Point{}, draw.Over)
	f := p.keys[0]
	b, _, _ := f.GlyphBounds([]rune(key)[0])
	d := font.Drawer{Dst: img, Src: image.NewUniform(l.back), Face: f,
		Dot: fixed.P(x+keyBox/2-((b.Min.X+b.Max.X)/2).Round(), y+keyBox/2-((b.Min.Y+b.Max.Y)/2).Round())}
	d.DrawString(key)
}

// write sets a line of text, cell by cell as a terminal does.
func (p *pen) write(img *image.NRGBA, text string, x, y int, c color.Color) {
	for _, r := range text {
		for i, f := range p.regular {
			if f.has(r) || i == len(p.regular)-1 {
				d := font.Drawer{Dst: img, Src: image.NewUniform(c), Face: f, Dot: fixed.P(x, y+p.base)}
				d.DrawString(string(r))
				break
			}
		}
		x += ansi.StringWidth(string(r)) * p.cw
	}
}

// disc is a filled circle with soft edges.
func disc(img *image.NRGBA, cx, cy, r int, c color.RGBA) {
	const fine = 4
	for y := cy - r - 1; y <= cy+r+1; y++ {
		for x := cx - r - 1; x <= cx+r+1; x++ {
			in := 0
			for sy := range fine {
				for sx := range fine {
					dx, dy := (x-cx)*fine*2+2*sx-fine+1, (y-cy)*fine*2+2*sy-fine+1
					if dx*dx+dy*dy <= r*r*fine*fine*4 {
						in++
					}
				}
			}
			if in > 0 {
				a := uint8(255 * in / (fine * fine))
				draw.Draw(img, image.Rect(x, y, x+1, y+1), image.NewUniform(color.NRGBA{c.R, c.G, c.B, a}),
					image.Point{}, draw.Over)
			}
		}
	}
}
