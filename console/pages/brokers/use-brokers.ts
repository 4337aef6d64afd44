// The brokers of the cluster, asked for more often than by default: a broker that falls silent should be seen soon.

import { useState } from 'react'
import type { Answer } from '../../api/contract.ts'
import { type Read, useRead } from '../../api/queries.ts'
import { noteBrokers, type SeenBroker } from './seen-brokers.ts'

const EVERY_MS = 5_000

export interface Brokers {
  readonly read: Read<Answer<'list brokers'>>
  readonly seen: readonly SeenBroker[]
}

export function useBrokers(): Brokers {
  const read = useRead('list brokers', {}, { everyMs: EVERY_MS })
  const [noted, setNoted] = useState<{ readonly atMs: number; readonly seen: readonly SeenBroker[] }>({
    atMs: 0,
    seen: [],
  })
  if (read.data === undefined || read.atMs === noted.atMs) return { read, seen: noted.seen }
  const seen = noteBrokers(noted.seen, read.data.brokers, read.atMs)
  setNoted({ atMs: read.atMs, seen })
  return { read, seen }
}
