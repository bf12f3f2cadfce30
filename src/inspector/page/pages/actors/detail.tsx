import type { ActorReply } from '../../../api/actors.ts';
import { plural } from '../../core/format.ts';
import { usePoll } from '../../core/poll.ts';
import { param, params } from '../../core/router.ts';
import { DataTable, Pager } from '../../ui/data-table.tsx';
import { Page, Section } from '../../ui/page.tsx';
import { Payload } from '../../ui/payload.tsx';
import { Empty, Facts, Loaded } from '../../ui/states.tsx';
import { Ago } from '../../ui/time.tsx';
import { REMINDER_COLUMNS, ReminderPanel } from './reminders.tsx';

interface ActorDetailProps {
  readonly type: string;
  readonly id: string;
}

/** An actor: whether it is active, its reminders, and its state. */
export function ActorDetail({ type, id }: ActorDetailProps) {
  const poll = usePoll('actors/one', { type, id });
  const reminders = usePoll('actors/reminders', { type, id, ...params('cursor') });
  const open = param('open');
  return (
    <Page title={id} note={`Actor of type ${type}`}>
      <Loaded of={poll}>{({ active }) => <Facts items={{ 'In this process': activityOf(active) }} />}</Loaded>
      <Section title="Reminders">
        <Loaded of={reminders}>
          {(reply) => (
            <>
              <DataTable
                caption="Reminders"
                columns={REMINDER_COLUMNS}
                rows={reply.reminders}
                rowKey={({ name }) => name}
                empty={<Empty title="It has no reminders." />}
              />
              <Pager cursor={reply.cursor} />
            </>
          )}
        </Loaded>
      </Section>
      <Section title="State">{poll.data && <State of={poll.data} />}</Section>
      {open && <ReminderPanel key={open} of={{ type, id, name: open }} refresh={reminders.refresh} />}
    </Page>
  );
}

function activityOf(active: ActorReply['active']): string {
  return active === undefined ? 'not active' : `${plural(active.calls, 'call')}, ${active.waiting} waiting`;
}

function State({ of: { state, more } }: { readonly of: ActorReply }) {
  if (state.length === 0) return <Empty title="It has no state." />;
  return (
    <>
      {state.map(({ key, expiresAt, value }) => (
        <section key={key}>
          <h3>
            {key} {expiresAt === undefined ? null : <Ago at={expiresAt} />}
          </h3>
          <Payload of={value} label={key} />
        </section>
      ))}
      {more > 0 && <p class="dim">And {plural(more, 'more value')}.</p>}
    </>
  );
}
