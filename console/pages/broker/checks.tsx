// The health of the broker that answers: the checks of its store with their times, and its components with their
// details.

import type { HealthInFull, Status } from '../../../src/api/health.ts'
import { useRead } from '../../api/queries.ts'
import { Badge, type Tone } from '../../parts/badge.tsx'
import { Section } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { duration } from '../../text/format.ts'
import { linesOf } from './details.ts'

const TONES: Readonly<Record<Status, Tone>> = { UP: 'ok', DOWN: 'danger', OUT_OF_SERVICE: 'warn' }

const TITLES: Readonly<Record<string, string>> = {
  'redis-connectivity': 'Redis',
  'storage-redis-connectivity': 'Redis of the local tier',
  'store-connectivity': 'Store',
  store: 'Store',
  broker: 'Broker',
  diskSpace: 'Disk space',
  ping: 'Process',
  ssl: 'Certificates',
  adminSecurity: 'Sign-in to the admin API',
  redis: 'Redis',
}

export function Checks() {
  const health = useRead('show health in full', {})
  return (
    <Loaded read={health} of="The checks" rows={8}>
      {({ status, checks, details }) => (
        <>
          <p className="flex flex-wrap items-center gap-2">
            <StatusBadge status={status} />
            <span>
              The broker as a whole, checked at <Time ms={health.atMs} isShort />
            </span>
          </p>
          <Section title="Connections to the store">
            <ul className="grid items-start gap-3 lg:grid-cols-2">
              {checks.map(check => (
                <Card key={check.name} name={check.name} status={check.status} details={check.details}>
                  answered in {duration(check.tookMs)}
                </Card>
              ))}
            </ul>
          </Section>
          <Section title="Components">
            <ul className="grid items-start gap-3 lg:grid-cols-2">
              {othersThan(checks, details.components).map(([name, component]) => (
                <Card key={name} name={name} status={component.status} details={component.details} />
              ))}
            </ul>
          </Section>
        </>
      )}
    </Loaded>
  )
}

/** Returns the components whose details are not those of a check above; those without details come last. */
function othersThan(checks: HealthInFull['checks'], components: HealthInFull['details']['components']) {
  const shown = new Set(checks.map(check => JSON.stringify(check.details)))
  const rest = Object.entries(components).filter(([, component]) => !shown.has(JSON.stringify(component.details)))
  const isBare = ([, { details }]: (typeof rest)[number]) => Number(linesOf(details).length === 0)
  return rest.sort((one, other) => isBare(one) - isBare(other))
}

interface CardProps {
  readonly name: string
  readonly status: Status
  readonly details: HealthInFull['checks'][number]['details'] | undefined
  readonly children?: React.ReactNode
}

function Card({ name, status, details, children }: CardProps) {
  const lines = linesOf(details)
  return (
    <li className="min-w-0 rounded-card border border-line bg-surface p-4" data-check={name}>
      <h3 className="flex flex-wrap items-center gap-2 font-semibold">
        {TITLES[name] ?? name}
        <StatusBadge status={status} />
        {children !== undefined && <span className="font-normal text-muted">{children}</span>}
      </h3>
      {lines.length > 0 && (
        <dl className="mt-2 grid grid-cols-3 gap-x-4 gap-y-1">
          {lines.map(({ label, text }) => (
            <div key={label} className="contents">
              <dt className="text-muted">{label}</dt>
              <dd className="col-span-2 m-0 tabular-nums">{text}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  )
}

function StatusBadge({ status }: { readonly status: Status }) {
  return <Badge tone={TONES[status]}>{status}</Badge>
}
