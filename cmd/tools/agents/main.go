// Command agents prints what npm has to install for the tests with real agents:
// a line for each, its folder and its packages. With an argument it lists those
// of the longer run too.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/acp-bridge/acp-bridge/cmd/tools/internal/realtest"
)

func main() {
	fmt.Println(realtest.Node, realtest.NodePackage)
	for _, a := range realtest.Agents() {
		if len(a.Packages) > 0 && (!a.Long || len(os.Args) > 1) {
			fmt.Println(a.Name, strings.Join(a.Packages, " "))
		}
	}
}
