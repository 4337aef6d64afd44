// The page of one broker: its checks, its settings and its loggers. Only the broker itself knows its checks, its
// loggers, and the places where its settings are written.

import { BROKER_TABS } from '../../../src/api/pages.ts'
import { buttonClass } from '../../parts/button.tsx'
import { PageHead } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink, useHere } from '../../shell/address.tsx'
import { count, counted } from '../../text/format.ts'
import { UpSince } from '../brokers/broker-facts.tsx'
import { BrokerBadges, Silence } from '../brokers/broker-state.tsx'
import { useBrokers } from '../brokers/use-brokers.ts'
import { Checks } from './checks.tsx'
import { Loggers } from './loggers.tsx'
import { OtherSettings, OwnSettings } from './settings.tsx'

const LABELS: Readonly<Record<(typeof BROKER_TABS)[number], string>> = {
  checks: 'Checks',
  settings: 'Settings',
  loggers: 'Loggers',
}

export function Broker() {
  const { params, search } = useHere('broker')
  const { tab } = search
  const { read, seen: all } = useBrokers()
  const seen = all.find(({ broker }) => String(broker.id) === params.broker)
  const title = `Broker ${params.broker}`
  return (
    <>
      <PageHead
        title={title}
        heading={
          <span className="inline-flex flex-wrap items-center gap-2">
            <VisibleText text={title} />
            {seen !== undefined && <BrokerBadges seen={seen} />}
          </span>
        }
      >
        {seen === undefined ? (
          '\u00a0'
        ) : (
          <>
            Up since <UpSince seen={seen} />, leads {counted(seen.broker.leads, 'partition')}
            {read.data !== undefined && ` of ${count(read.data.partitions)}`}
            {seen.broker.version !== null && `, version ${seen.broker.version}`}.
            <Silence seen={seen} />
          </>
        )}
      </PageHead>
      <Loaded read={read} of="The brokers" rows={12}>
        {({ brokers }) => {
          if (seen === undefined) return <Unknown broker={params.broker} living={brokers.map(({ id }) => id)} />
          const self = brokers.find(({ isSelf }) => isSelf)
          return (
            <>
              <Tabs
                of={title}
                tabs={BROKER_TABS.map(each => ({
                  page: 'broker',
                  params,
                  search: { tab: each },
                  isCurrent: each === tab,
                  label: LABELS[each],
                }))}
              />
              {tab === 'settings' && (seen.broker.isSelf ? <OwnSettings /> : <OtherSettings broker={seen.broker.id} />)}
              {tab !== 'settings' &&
                (seen.broker.isSelf ? (
                  tab === 'checks' ? (
                    <Checks />
                  ) : (
                    <Loggers />
                  )
                ) : (
                  <Elsewhere broker={seen.broker.id} answering={self?.id} what={tab} />
                ))}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

interface ElsewhereProps {
  readonly broker: number
  readonly answering: number | undefined
  readonly what: 'checks' | 'loggers'
}

function Elsewhere({ broker, answering, what }: ElsewhereProps) {
  return (
    <Empty
      title={`Broker ${broker} alone knows its ${what}`}
      action={
        answering !== undefined && (
          <PageLink
            page="broker"
            params={{ broker: String(answering) }}
            search={{ tab: what }}
            className={buttonClass()}
          >
            The {what} of broker {answering}
          </PageLink>
        )
      }
    >
      {answering === undefined ? 'Another broker' : `Broker ${answering}`} answers this console. Open the console of
      broker {broker} at its own address to see them.
    </Empty>
  )
}

function Unknown({ broker, living }: { readonly broker: string; readonly living: readonly number[] }) {
  return (
    <Empty
      title={`There is no broker ${broker}`}
      action={
        <PageLink page="brokers" className={buttonClass()}>
          All brokers
        </PageLink>
      }
    >
      {living.length === 1 ? `Broker ${living[0]} is the only one` : `The brokers ${living.join(', ')} are`} on this
      store. A broker that has stopped is no longer listed.
    </Empty>
  )
}
