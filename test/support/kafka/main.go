// A broker that speaks the Kafka protocol and keeps its data in a directory, for tests. It is no Kafka: it shows what
// works, not how fast or how durable a cluster is.
package main

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

const host = "127.0.0.1"

func main() {
	port := flag.Int("port", 0, "where to listen on 127.0.0.1")
	data := flag.String("data", "", "the directory of the data")
	user := flag.String("user", "", "mechanism,name,password of the only user")
	flag.Parse()
	options := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.Ports(*port),
		kfake.ListenFn(listen),
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(1),
		kfake.GroupMinSessionTimeout(time.Second),
		kfake.DataDir(*data),
		kfake.BrokerConfigs(map[string]string{"message.max.bytes": "2097152"}),
	}
	if *user != "" {
		parts := bytes.SplitN([]byte(*user), []byte(","), 3)
		options = append(options, kfake.EnableSASL(), kfake.Superuser(string(parts[0]), string(parts[1]), string(parts[2])))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	cluster.Close()
}

func listen(network, address string) (net.Listener, error) {
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return behindProxies{listener}, nil
}

type behindProxies struct{ net.Listener }

func (l behindProxies) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &behindProxy{Conn: conn, told: address(l.Addr().(*net.TCPAddr).Port)}, nil
}

// A client whose ID says "via-<port>" is told that port in the place of the broker's own, so that all its connections go
// through the proxy that it has come through.
type behindProxy struct {
	net.Conn
	told, via []byte
	isKnown   bool
}

var proxy = regexp.MustCompile(`via-(\d+)`)

func (c *behindProxy) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	// The length of a request comes alone, its client ID a little later.
	if !c.isKnown && n > 4 {
		c.isKnown = true
		if found := proxy.FindSubmatch(into[:n]); found != nil {
			port, _ := strconv.Atoi(string(found[1]))
			c.via = address(port)
		}
	}
	return n, err
}

func (c *behindProxy) Write(response []byte) (int, error) {
	if c.via != nil {
		response = bytes.ReplaceAll(response, c.told, c.via)
	}
	return c.Conn.Write(response)
}

// The bytes of a broker's address in a response.
func address(port int) []byte {
	return binary.BigEndian.AppendUint32([]byte(host), uint32(port))
}
