// Command upstream answers the allocator's batch protocol with the code of Kubernetes itself: one JSON object per line
// in, one per line out, in the same order.
//
// SPDX-License-Identifier: Apache-2.0
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/klog/v2"
	kjson "sigs.k8s.io/json"
)

// line is what every question has; the rest depends on the kind.
type line struct {
	ID       json.RawMessage `json:"id"`
	Kind     string          `json:"kind"`
	Features json.RawMessage `json:"features"`
	Gates    json.RawMessage `json:"gates"`
}

// answer holds the members of one answer; the keys of a map are written in order.
type answer map[string]any

var kinds = map[string]func(raw []byte) (answer, error){
	"allocate":       answerAllocate,
	"podAllocatable": answerPod,
	"poolstatus":     answerPoolStatus,
	"validate":       answerValidate,
	"quantity":       answerQuantity,
	"cel":            answerCEL,
	"bench":          answerBench,
}

func main() {
	flags := flag.NewFlagSet("upstream", flag.ExitOnError)
	klog.InitFlags(flags)
	_ = flags.Parse([]string{"-logtostderr=false", "-stderrthreshold=FATAL"})
	klog.SetOutput(io.Discard)
	useOwnGates()

	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	for {
		raw, err := in.ReadBytes('\n')
		if text := bytes.TrimSpace(raw); len(text) > 0 {
			write(out, text)
		}
		if err != nil || in.Buffered() == 0 {
			out.Flush()
		}
		if err != nil {
			return
		}
	}
}

func write(out io.Writer, raw []byte) {
	var head line
	found, err := reply(raw, &head)
	if err != nil {
		found = answer{"error": err.Error()}
	}
	if len(head.ID) > 0 {
		found["id"] = head.ID
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(found); err != nil {
		fmt.Fprintf(out, "{\"id\": %s, \"error\": %q}\n", head.ID, "output: "+err.Error())
	}
}

// reply turns a panic of upstream's code into an error: it is a finding about that world, not the end of the run.
func reply(raw []byte, head *line) (found answer, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("panic: %v", problem)
		}
	}()
	if err := json.Unmarshal(raw, head); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	ask, known := kinds[head.Kind]
	if !known {
		return nil, fmt.Errorf("input: kind %q is not known", head.Kind)
	}
	wanted := head.Features
	if len(head.Gates) > 0 {
		wanted = head.Gates
	}
	if err := setGates(wanted); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return ask(raw)
}

// decode reads as the API server does: names of fields are told apart by case, and whole numbers stay whole.
func decode(raw []byte, into any) error {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into); err != nil {
		return errors.New("input: " + err.Error())
	}
	return nil
}
