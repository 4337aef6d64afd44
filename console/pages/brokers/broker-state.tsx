// The special states of a broker as badges, and the reason why one does not answer.

import { Badge } from '../../parts/badge.tsx'
import { Time } from '../../parts/time.tsx'
import { type SeenBroker, silence } from './seen-brokers.ts'

export function BrokerBadges({ seen }: { readonly seen: SeenBroker }) {
  const { broker, goneSinceMs } = seen
  return (
    <>
      {broker.isSelf && (
        <Badge tone="info" title="This broker answers the console.">
          this one
        </Badge>
      )}
      {goneSinceMs !== null ? (
        <Badge tone="danger">left</Badge>
      ) : broker.silentReason !== null ? (
        <Badge tone="danger">no answer</Badge>
      ) : (
        !broker.isServing && (
          <Badge tone="warn" title="It leads no partition and coordinates no group yet.">
            starting
          </Badge>
        )
      )}
      {broker.isConfirmed === false && (
        <Badge tone="warn" title="It is not certain that the other brokers know that this broker is alive.">
          not confirmed
        </Badge>
      )}
    </>
  )
}

/** Why a broker does not answer, and since when; nothing for one that answers. */
export function Silence({ seen }: { readonly seen: SeenBroker }) {
  const reason = silence(seen)
  if (reason === null) return null
  return (
    <p className="text-danger">
      {seen.goneSinceMs === null ? 'No answer since ' : 'Left the cluster by '}
      <Time ms={seen.goneSinceMs ?? seen.silentSinceMs} isShort />: {reason}
    </p>
  )
}

export function Addresses({ broker: { listeners } }: Pick<SeenBroker, 'broker'>) {
  if (listeners.length === 0) return <span title="The broker has no listener yet.">—</span>
  return (
    <ul>
      {listeners.map(({ name, host, port }) => (
        <li key={name}>
          <span className="font-mono text-dense">
            {host.includes(':') ? `[${host}]` : host}:{port}
          </span>{' '}
          <span className="text-badge text-muted">{name}</span>
        </li>
      ))}
    </ul>
  )
}
