// Notices that the broker serves a newer console than this page: after an outage, and now and then. The page then
// offers to reload; it never does so by itself, because a draft would be lost.

import { useEffect, useState } from 'react'
import { pause } from '../api/client.ts'
import { useConnection } from './connection.ts'

/** The stamp of the build: a header of the broker's page, and a `<meta>` of this page (src/http/routes/console.ts). */
const STAMP = 'ketch-console'
const EVERY_MS = 300_000

async function isNewer(signal: AbortSignal): Promise<boolean> {
  const own = document.querySelector(`meta[name="${STAMP}"]`)?.getAttribute('content')
  const answer = await fetch('/', { method: 'HEAD', headers: { accept: 'text/html' }, signal })
  const served = answer.headers.get(STAMP)
  // A development server has no stamp.
  return typeof own === 'string' && served !== null && served !== own
}

/** Returns whether the broker serves another console than this page. */
export function useNewerBuild(): boolean {
  const [isFound, setFound] = useState(false)
  const isAway = useConnection().trouble !== null
  useEffect(() => {
    if (isAway || isFound) return
    const ended = new AbortController()
    const look = async () => {
      for (;;) {
        if (document.visibilityState === 'visible' && (await isNewer(ended.signal))) return setFound(true)
        await pause(EVERY_MS, ended.signal)
      }
    }
    look().catch(() => {
      // The page was left, or the broker is away again: the next answer looks again.
    })
    return () => ended.abort()
  }, [isAway, isFound])
  return isFound
}
