// The contents of a store as one value, for tests of calls that must change nothing.

import { type DocumentKind, documentKinds } from '../src/store/document-kinds.ts'
import type { Store } from '../src/store/store.ts'

/** Documents that brokers write by themselves all the time. */
const MOVING: readonly DocumentKind[] = ['broker', 'leads', 'worker', 'tier']

/** Resolves with every document with its version and fields, and every stream with its number of entries. */
export async function contentsOf(store: Store, without: readonly DocumentKind[] = []) {
  const documents: Record<string, unknown> = {}
  for (const kind of documentKinds) {
    if (MOVING.includes(kind) || without.includes(kind)) continue
    for (const { name, version, fields } of await store.list(kind)) {
      const texts = [...fields].map(([key, value]) => [key, Buffer.from(value).toString('base64')] as const)
      documents[`${kind} ${name}`] = { version, fields: Object.fromEntries(texts.sort()) }
    }
  }
  const streams = [...(await store.streams())].sort()
  const usages = await store.usage(streams)
  return { documents, streams: streams.map((stream, i) => [stream, usages[i]?.entries ?? null]) }
}
