// Protocol 1 of dpwitness in Go, standard library only: a sum with Laplace noise of scale 1.
//
//	go build laplace.go
//	dpwitness audit --command ./laplace --epsilon 1 --pair '[0]' '[0, 1]'
//
// Replace draw; the rest is the protocol (docs/protocol.md).
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
)

type request struct {
	ID       uint64    `json:"id"`
	Seed     uint64    `json:"seed"`
	Size     int       `json:"size"`
	Database []float64 `json:"database"`
}

// SplitMix64 (Steele, Lea and Flood, 2014): all randomness follows from the request's seed.
type splitMix uint64

func (state *splitMix) uniform() float64 {
	*state += 0x9E3779B97F4A7C15
	z := uint64(*state)
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9
	z = (z ^ (z >> 27)) * 0x94D049BB133111EB
	return (float64((z^(z>>31))>>11) + 0.5) / (1 << 53) // in (0, 1)
}

func draw(database []float64, rng *splitMix) float64 {
	sum, u := 0.0, rng.uniform()
	for _, value := range database {
		sum += value
	}
	if u < 0.5 {
		return sum + math.Log(2*u)
	}
	return sum - math.Log(2-2*u)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	_, err := in.ReadString('\n') // {"dpwitness":1}
	fail(err)
	fmt.Fprintln(out, `{"dpwitness": 1, "name": "laplace in Go"}`)
	fail(out.Flush())
	for decoder := json.NewDecoder(in); ; {
		var asked request
		if err := decoder.Decode(&asked); err == io.EOF {
			return
		} else if err != nil {
			fail(err)
		}
		rng := splitMix(asked.Seed)
		bytes := make([]byte, 0, 8*asked.Size)
		for i := 0; i < asked.Size; i++ {
			bits := math.Float64bits(draw(asked.Database, &rng))
			bytes = binary.LittleEndian.AppendUint64(bytes, bits)
		}
		fmt.Fprintf(out, "{\"id\": %d, \"dtype\": \"<f8\", \"shape\": [%d]}\n", asked.ID, asked.Size)
		_, err := out.Write(bytes)
		fail(err)
		fail(out.Flush())
	}
}
