package web

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"net/http"
	"strconv"
	"sync"
)

// icons are the sizes in which the page has its drawing: for browsers, phones, and
// the one that systems cut to their own shape.
var icons = map[string]func() []byte{
	"favicon.ico":           sync.OnceValue(func() []byte { return drawIcon(48, false) }),
	"icon-180.png":          sync.OnceValue(func() []byte { return drawIcon(180, true) }),
	"icon-192.png":          sync.OnceValue(func() []byte { return drawIcon(192, false) }),
	"icon-512.png":          sync.OnceValue(func() []byte { return drawIcon(512, false) }),
	"icon-512-maskable.png": sync.OnceValue(func() []byte { return drawIcon(512, true) }),
}

// drawIcon draws a bridge with somebody on it: an arch, a road, a dot. All sizes are
// this one drawing. A full one has no corners of its own.
func drawIcon(size int, full bool) []byte {
	const fine = 4 // samples a side
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	for py := range size {
		for px := range size {
			back, mark := 0.0, 0.0
			for sy := range fine {
				for sx := range fine {
					x := (float64(px) + (float64(sx)+.5)/fine) / float64(size)
					y := (float64(py) + (float64(sy)+.5)/fine) / float64(size)
					if full || rounded(x-.5, y-.5, .5, .5, .22) {
						back++
					}
					if onBridge(x, y, full) {
						mark++
					}
				}
			}
			mix := func(a, b uint8) uint8 {
				return uint8(math.Round(float64(a) + (float64(b)-float64(a))*mark/(fine*fine)))
			}
			img.SetNRGBA(px, py, color.NRGBA{mix(0x2a, 0xff), mix(0x65, 0xff), mix(0x48, 0xff), uint8(math.Round(255 * back / (fine * fine)))})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, img) // a picture in memory always encodes
	return b.Bytes()
}

// onBridge reports whether a point is on the drawing. What may be cut off at its edge
// has it smaller.
func onBridge(x, y float64, full bool) bool {
	if full {
		x, y = .5+(x-.5)/.8, .5+(y-.5)/.8
	}
	if rounded(x-.5, y-.665, .36, .038, .038) || math.Hypot(x-.5, y-.30) < .085 {
		return true
	}
	r := math.Hypot(x-.5, y-.665)
	return y < .665 && r > .205 && r < .275
}

// rounded reports whether a point is in a box around zero with round corners.
func rounded(x, y, w, h, r float64) bool {
	dx, dy := math.Max(math.Abs(x)-(w-r), 0), math.Max(math.Abs(y)-(h-r), 0)
	return math.Abs(x) <= w && math.Abs(y) <= h && math.Hypot(dx, dy) <= r
}

func showIcon(draw func() []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		data := draw()
		w.Header().Set("Content-Type", "image/png")
		w.Header().Set("Cache-Control", "max-age=86400")
		w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		_, _ = w.Write(data)
	}
}
