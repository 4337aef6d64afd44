// The machine of documents that contain a classic group and its committed offsets. It reads them from the store,
// encodes them for it, and ends what is due. The events are in join.ts, sync.ts, presence.ts and
// offsets/group-offsets.ts; live-group.ts passes them to the document.

import { decodeGroup, KIND } from '../group-record.ts'
import type { Machine } from '../machine.ts'
import { GroupOffsets } from '../offsets/group-offsets.ts'
import { type ClassicGroup, emptyGroup, type GroupRules, isInUse, toStore } from './group.ts'
import { encodeHead, HEAD } from './head-record.ts'
import { expire } from './presence.ts'
import { resume, trim } from './resume.ts'

export interface ClassicState {
  readonly group: ClassicGroup
  readonly offsets: GroupOffsets
}

export function classicMachine(rules: GroupRules): Machine<ClassicState> {
  return {
    kind: KIND,
    noun: 'group',

    read(document, now) {
      if (document === null) return { group: emptyGroup(now), offsets: new GroupOffsets(new Map()) }
      const { head, offsets } = decodeGroup(document)
      return { group: head === null ? emptyGroup(now) : resume(head, now), offsets: new GroupOffsets(offsets) }
    },

    resume: ({ group }, now) => trim(group, rules, now),
    fields: ({ offsets }) => [HEAD, ...offsets.fields()],
    encode: ({ group, offsets }, field) => (field === HEAD ? encodeHead(toStore(group)) : offsets.encode(field)),
    isInUse: ({ group }) => isInUse(group),
    wakeAtMs: ({ group }) => group.wakeAtMs,
    wake: ({ group }, now) => expire(group, now),
  }
}
