// franz-go and its package sr for driver.ts, which describes the requests: a line of JSON in, a line of JSON out.
// sr leaves the bytes of a record to other packages: hamba/avro, encoding/json and Go's own Protobuf. A user has code
// that protoc made; here the messages of Protobuf come from the descriptor.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/scram"
	"github.com/twmb/franz-go/pkg/sr"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const longestWait = 20 * time.Second

type line struct {
	Sku   string `json:"sku" avro:"sku"`
	Count int    `json:"count" avro:"count"`
}

// The members in the order of the records, with the id as a number.
type order struct {
	ID       int64    `json:"id" avro:"id"`
	Customer string   `json:"customer" avro:"customer"`
	Total    float64  `json:"total" avro:"total"`
	Tags     []string `json:"tags" avro:"tags"`
	Lines    []line   `json:"lines" avro:"lines"`
	Note     *string  `json:"note" avro:"note"`
	Status   string   `json:"status" avro:"status"`
}

// An order in requests and answers, with the id as digits.
type shown struct {
	order
	ID string `json:"id"`
}

type request struct {
	Number   int    `json:"number"`
	Verb     string `json:"verb"`
	Registry struct {
		URL      string  `json:"url"`
		Username *string `json:"username"`
		Password string  `json:"password"`
		CA       *string `json:"ca"`
	} `json:"registry"`
	Kafka struct {
		Address  string  `json:"address"`
		Username *string `json:"username"`
		Password string  `json:"password"`
	} `json:"kafka"`
	Topic   string `json:"topic"`
	Subject string `json:"subject"`
	Schema  struct {
		Format     string `json:"format"`
		Text       string `json:"text"`
		Descriptor string `json:"descriptor"`
	} `json:"schema"`
	Orders []*shown `json:"orders"`
	Values []string `json:"values"`
	Group  string   `json:"group"`
	Count  int      `json:"count"`
}

func (r *request) schema() (sr.Schema, error) {
	schema := sr.Schema{Schema: r.Schema.Text}
	return schema, schema.Type.UnmarshalText([]byte(r.Schema.Format))
}

func (r *request) registry() (*sr.Client, error) {
	options := []sr.ClientOpt{sr.URLs(r.Registry.URL)}
	if r.Registry.Username != nil {
		options = append(options, sr.BasicAuth(*r.Registry.Username, r.Registry.Password))
	}
	if r.Registry.CA != nil {
		pem, err := os.ReadFile(*r.Registry.CA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		options = append(options, sr.DialTLSConfig(&tls.Config{RootCAs: pool}))
	}
	return sr.NewClient(options...)
}

func (r *request) kafka(more ...kgo.Opt) (*kgo.Client, error) {
	options := append(more, kgo.SeedBrokers(r.Kafka.Address), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	// kafkajs has no snappy of its own, with which franz-go compresses by default.
	options = append(options, kgo.ProducerBatchCompression(kgo.NoCompression()))
	if r.Kafka.Username != nil {
		auth := scram.Auth{User: *r.Kafka.Username, Pass: r.Kafka.Password}
		options = append(options, kgo.SASL(auth.AsSha256Mechanism()))
	}
	return kgo.NewClient(options...)
}

// The options with which a Serde encodes and decodes orders by this schema.
func (r *request) encoding(text string) ([]sr.EncodingOpt, error) {
	switch r.Schema.Format {
	case "AVRO":
		schema, err := avro.Parse(text)
		if err != nil {
			return nil, err
		}
		return []sr.EncodingOpt{
			sr.EncodeFn(func(v any) ([]byte, error) { return avro.Marshal(schema, v) }),
			sr.DecodeFn(func(b []byte, v any) error { return avro.Unmarshal(schema, b, v) }),
		}, nil
	case "JSON":
		return []sr.EncodingOpt{sr.EncodeFn(json.Marshal), sr.DecodeFn(json.Unmarshal)}, nil
	default:
		of, err := r.message()
		if err != nil {
			return nil, err
		}
		return []sr.EncodingOpt{
			sr.Index(0),
			sr.EncodeFn(func(v any) ([]byte, error) { return encodeMessage(of, v.(order)) }),
			sr.DecodeFn(func(b []byte, v any) error { return decodeMessage(of, b, v.(*order)) }),
		}, nil
	}
}

func (r *request) message() (protoreflect.MessageDescriptor, error) {
	described := &descriptorpb.FileDescriptorProto{}
	if err := protojson.Unmarshal([]byte(r.Schema.Descriptor), described); err != nil {
		return nil, err
	}
	file, err := protodesc.NewFile(described, nil)
	if err != nil {
		return nil, err
	}
	return file.Messages().ByName("Order"), nil
}

func encodeMessage(of protoreflect.MessageDescriptor, from order) ([]byte, error) {
	text, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	message := dynamicpb.NewMessage(of)
	if err := protojson.Unmarshal(text, message); err != nil {
		return nil, err
	}
	return proto.Marshal(message)
}

func decodeMessage(of protoreflect.MessageDescriptor, data []byte, to *order) error {
	message := dynamicpb.NewMessage(of)
	if err := proto.Unmarshal(data, message); err != nil {
		return err
	}
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(message)
	if err != nil {
		return err
	}
	var decoded shown
	if err := json.Unmarshal(text, &decoded); err != nil {
		return err
	}
	*to = decoded.order
	to.ID, err = strconv.ParseInt(decoded.ID, 10, 64)
	return err
}

func (r *request) send(values [][]byte) (any, error) {
	client, err := r.kafka()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), longestWait)
	defer cancel()
	records := make([]*kgo.Record, len(values))
	for i, value := range values {
		records[i] = &kgo.Record{Topic: r.Topic, Key: []byte(strconv.Itoa(i)), Value: value}
	}
	return nil, client.ProduceSync(ctx, records...).FirstErr()
}

func (r *request) produce() (any, error) {
	registry, err := r.registry()
	if err != nil {
		return nil, err
	}
	schema, err := r.schema()
	if err != nil {
		return nil, err
	}
	registered, err := registry.CreateSchema(context.Background(), r.Topic+"-value", schema)
	if err != nil {
		return nil, err
	}
	encoding, err := r.encoding(schema.Schema)
	if err != nil {
		return nil, err
	}
	var serde sr.Serde
	serde.Register(registered.ID, order{}, encoding...)
	values := make([][]byte, len(r.Orders))
	for i, each := range r.Orders {
		if each == nil {
			continue
		}
		if each.order.ID, err = strconv.ParseInt(each.ID, 10, 64); err != nil {
			return nil, err
		}
		if values[i], err = serde.Encode(each.order); err != nil {
			return nil, err
		}
	}
	return r.send(values)
}

func (r *request) consume() (any, error) {
	registry, err := r.registry()
	if err != nil {
		return nil, err
	}
	from := map[string]map[int32]kgo.Offset{r.Topic: {0: kgo.NewOffset().AtStart()}}
	client, err := r.kafka(kgo.ConsumePartitions(from))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), longestWait)
	defer cancel()
	var serde sr.Serde
	known := map[int]bool{}
	orders := []*shown{}
	for len(orders) < r.Count {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetched.Records() {
			if record.Value == nil {
				orders = append(orders, nil)
				continue
			}
			id, _, err := serde.DecodeID(record.Value)
			if err != nil {
				return nil, err
			}
			if !known[id] {
				schema, err := registry.SchemaByID(ctx, id)
				if err != nil {
					return nil, err
				}
				encoding, err := r.encoding(schema.Schema)
				if err != nil {
					return nil, err
				}
				serde.Register(id, order{}, encoding...)
				known[id] = true
			}
			var decoded order
			if err := serde.Decode(record.Value, &decoded); err != nil {
				return nil, err
			}
			orders = append(orders, &shown{decoded, strconv.FormatInt(decoded.ID, 10)})
		}
	}
	return orders, nil
}

func (r *request) register() (any, error) {
	registry, err := r.registry()
	if err != nil {
		return nil, err
	}
	schema, err := r.schema()
	if err != nil {
		return nil, err
	}
	registered, err := registry.CreateSchema(context.Background(), r.Subject, schema)
	return registered.ID, err
}

func (r *request) sendRaw() (any, error) {
	values := make([][]byte, len(r.Values))
	for i, value := range r.Values {
		data, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, err
		}
		values[i] = data
	}
	return r.send(values)
}

func (r *request) answer() (any, error) {
	switch r.Verb {
	case "produce":
		return r.produce()
	case "consume":
		return r.consume()
	case "register":
		return r.register()
	case "send":
		return r.sendRaw()
	}
	return nil, fmt.Errorf("no verb is called %q", r.Verb)
}

func errorOf(err error) map[string]any {
	said := map[string]any{"type": fmt.Sprintf("%T", err), "message": err.Error()}
	var refused *sr.ResponseError
	if errors.As(err, &refused) {
		said["type"], said["status"], said["code"] = "sr.ResponseError", refused.StatusCode, refused.ErrorCode
	}
	var kafka *kerr.Error
	if errors.As(err, &kafka) {
		said["type"], said["code"], said["name"] = "kerr.Error", kafka.Code, kafka.Message
	}
	return said
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var asked request
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		done, err := asked.answer()
		var answer any = map[string]any{"number": asked.Number, "done": done}
		if err != nil {
			answer = map[string]any{"number": asked.Number, "error": errorOf(err)}
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
}
