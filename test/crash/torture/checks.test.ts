import { describe, expect, test } from 'vitest';
import { check, type Findings, type Life } from './checks.ts';
import { Records } from './records.ts';

const NOTHING: Findings = { lost: [], again: [], disordered: [], wrong: [], undecided: [] };
const lives: readonly Life[] = [
  { life: 0, ending: 'killed', endedAt: 90_000_000, pauses: [] },
  { life: 1, ending: 'stopped', endedAt: 99_000_000, pauses: [[10_000_000, 60_000_000]] },
];

/** What the checks find in some lines, each with the host that wrote it before a colon. */
function findingsOf(lines: readonly string[], left: readonly string[] = []): Findings {
  const records = new Records();
  for (const line of lines) records.add(Number(line[0]), line.slice(2));
  return check({ records, lives, tickMs: 500, counterTickMs: 1_000, left });
}

const PUBLISHED = ['0:C 1 publish ordered1-0-1', '0:R 2 publish ordered1-0-1 ok'];
const DELIVERED = ['0:D 3 ordered ordered1-0-1 1', '0:A 4 ordered ordered1-0-1 SUCCESS'];
const STARTED = ['0:C 1 start w-0-5', '0:R 2 start w-0-5 ok'];
const RAISED = ['1:C 3 raise w-0-5/0', '1:R 4 raise w-0-5/0 ok'];
const NOTED = ['1', '2'].flatMap((number) => [`1:C 3 note w-0-5/0.${number}`, `1:R 4 note w-0-5/0.${number} ok`]);

const COUNTED = ['0:C 1 count counter-1/0-1', '0:B 2 counter-1 0-1', '0:E 3 counter-1 0-1', '0:G 4 counter-1 0-1 1'];
/** What the counter has of its calls, of the reminders of these, and its ticks. */
const counter = (calls: string, fired: string, ticks = '-'): string => `1:K 9 counter-1 ${calls} ${fired} ${ticks}`;
const ACKNOWLEDGED = [...COUNTED, '0:R 5 count counter-1/0-1 ok'];
const SILENCED = ['1:C 6 silence counter-1-1-1', '1:R 8 silence counter-1-1-1 ok'];

describe('the checks of what hosts did', () => {
  test('find nothing when every promise was kept', () => {
    const lines = [
      ...[...PUBLISHED, ...DELIVERED, '0:S 5 ordered ordered1-0-1', ...STARTED, ...NOTED, ...RAISED],
      '1:Q 9 w-0-5 COMPLETED 1116 1 w-0-5/0.1,w-0-5/0.2,w-0-5/0',
      ...['0:C 1 schedule j-0-1', '0:R 2 schedule j-0-1 ok', '1:T 3 j-0-1 7', '1:Z 4 j-0-1 7', '1:J 5 j-0-1 7'],
      ...['0:Z 1 tick-1 1000', '1:Z 2 tick-1 1500'],
      ...[...ACKNOWLEDGED, ...SILENCED, '1:I 7 counter-1 0', counter('0-1', '0-1', '1000,2000')],
    ];
    expect(findingsOf(lines)).toEqual(NOTHING);
  });

  test.each<[what: string, lines: readonly string[], found: Partial<Findings>]>([
    ['a message that was never processed', PUBLISHED, { lost: ['ordered ordered1-0-1'] }],
    [
      'a message that one of its groups did not get',
      ['0:C 1 publish orders1-0-1', '0:R 2 publish orders1-0-1 ok', '0:A 3 main orders1-0-1 SUCCESS'],
      { lost: ['audit orders1-0-1'] },
    ],
    [
      'a dead letter that never came',
      ['0:C 1 publish orders1-0-5', '0:R 2 publish orders1-0-5 ok', '0:A 3 audit orders1-0-5 SUCCESS'],
      { lost: ['dead orders1-0-5'] },
    ],
    ['a job that never ran', ['0:C 1 schedule j-0-1', '0:R 2 schedule j-0-1 ok'], { lost: ['j-0-1'] }],
    [
      'a tick left out',
      ['0:Z 1 tick-1 1000', '0:Z 2 tick-1 2000'],
      { lost: ['tick-1: nothing between 1000 and 2000'] },
    ],
    [
      'a workflow that is not there',
      STARTED,
      { lost: ['w-0-5: absent, start ok, events raised: none, received: none'] },
    ],
    [
      'a workflow that never ended',
      [...STARTED, ...RAISED, '1:Q 9 w-0-5 RUNNING undefined 1 w-0-5/0'],
      { lost: ['w-0-5: RUNNING, start ok, events raised: ok, received: w-0-5/0'] },
    ],
    [
      'an event that never came',
      [...STARTED, ...RAISED, '1:Q 9 w-0-5 COMPLETED 1116 1 -'],
      { lost: ['event w-0-5/0'] },
    ],
    [
      'an event that came twice',
      [...STARTED, '1:Q 9 w-0-5 COMPLETED 1116 1 w-0-5/0,w-0-5/0'],
      { again: ['event w-0-5/0 came twice'] },
    ],
    [
      'an event left out before another one',
      [...STARTED, ...NOTED, ...RAISED, '1:Q 9 w-0-5 COMPLETED 1116 1 w-0-5/0.1,w-0-5/0'],
      { lost: ['event w-0-5/0.2, raised before w-0-5/0'] },
    ],
    [
      'an event that came after one that was raised later',
      [...STARTED, ...NOTED, ...RAISED, '1:Q 9 w-0-5 COMPLETED 1116 1 w-0-5/0.1,w-0-5/0,w-0-5/0.2'],
      { disordered: ['event w-0-5/0.2 came after w-0-5/0'] },
    ],
    [
      'two events the wrong way round',
      [...STARTED, ...NOTED, ...RAISED, '1:Q 9 w-0-5 COMPLETED 1116 1 w-0-5/0.2,w-0-5/0.1,w-0-5/0'],
      { disordered: ['event w-0-5/0.2 came before w-0-5/0.1'] },
    ],
    ['an activity with two results', ['1:Q 9 w-0-5 COMPLETED 1116 3:2 -'], { again: ['results of w-0-5: 3:2'] }],
    ['a wrong result', ['1:Q 9 w-0-5 COMPLETED 1115 1 -'], { wrong: ['w-0-5: COMPLETED 1115'] }],
    [
      'a wrong answer to a wait',
      ['1:C 1 wait w-0-5/0', '1:R 2 wait w-0-5/0 WRONG_RESULT'],
      { wrong: ['wait w-0-5/0 was answered wrongly'] },
    ],
    ['a workflow that failed', ['1:Q 9 w-0-5 FAILED undefined 1 -'], { wrong: ['w-0-5: FAILED undefined'] }],
    [
      'a delivery after the settlement',
      [...PUBLISHED, ...DELIVERED, '1:D 9 ordered ordered1-0-1 1', '0:S 5 ordered ordered1-0-1'],
      { again: ['ordered ordered1-0-1: recorded by host 0 at 5 µs, begun by host 1 at 9 µs'] },
    ],
    [
      'a run of a job after its end',
      ['0:T 1 j-0-1 7', '0:Z 2 j-0-1 7', '0:J 3 j-0-1 7', '1:T 4 j-0-1 7'],
      { again: ['j-0-1 7: recorded by host 0 at 3 µs, begun by host 1 at 4 µs'] },
    ],
    [
      'messages out of order',
      [
        ...[...PUBLISHED, '0:C 3 publish ordered1-0-2', '0:R 4 publish ordered1-0-2 ok'],
        ...['0:D 5 ordered ordered1-0-2 1', '0:A 6 ordered ordered1-0-2 SUCCESS'],
        ...['1:D 7 ordered ordered1-0-1 1', '1:A 8 ordered ordered1-0-1 SUCCESS'],
      ],
      { disordered: ['ordered1-0-1 came after 2'] },
    ],
    [
      'a call of an actor that was not counted',
      [...ACKNOWLEDGED, counter('-', '-')],
      { lost: ['count counter-1/0-1'] },
    ],
    [
      'a reminder of an actor that never came',
      [...ACKNOWLEDGED, counter('0-1', '-')],
      { lost: ['reminder of counter-1/0-1'] },
    ],
    [
      'a tick of an actor left out',
      [counter('-', '-', '1000,3000')],
      { lost: ['counter-1: no tick between 1000 and 3000'] },
    ],
    ['an actor that ticks no more', SILENCED, { lost: ['the ticking of counter-1 is gone'] }],
    [
      'an actor whose tick does not come',
      [...SILENCED, '1:I 7 counter-1 60001'],
      { lost: ['the tick of counter-1 is 60001 ms late, and does not come'] },
    ],
    [
      'turns of an actor that were stored twice',
      [counter('0-1,0-1', '0-1,0-1', '1000,1000')],
      {
        again: [
          'counter-1/0-1 was counted twice',
          'the reminder of counter-1/0-1 was stored twice',
          'tick 1000 of counter-1 was stored twice',
        ],
      },
    ],
    [
      'a call of an actor before one made earlier',
      [counter('0-3,1-7,0-2', '-')],
      { disordered: ['counter-1/0-2 came after 0-3'] },
    ],
    [
      'turns of an actor at the same time at one host',
      ['0:B 1 counter-1 0-2', '0:B 2 counter-1 0-3'],
      { disordered: ['counter-1: 0-3 at host 0 began during 0-2 at 0'] },
    ],
    [
      'turns of an actor at the same time at two hosts, both of which were stored',
      [
        ...['0:B 1 counter-1 0-2', '1:B 2 counter-1 1-2', '0:E 3 counter-1 0-2', '1:E 4 counter-1 1-2'],
        counter('0-2,1-2', '-'),
      ],
      { disordered: ['counter-1: 1-2 at host 1 began during 0-2 at 0'] },
    ],
    [
      'an answer of an actor that is not what it has stored',
      [...ACKNOWLEDGED, counter('1-2,0-1', '0-1')],
      { wrong: ['counter-1/0-1 was answered 1, and is number 2'] },
    ],
    [
      'what a turn has left that failed',
      [counter('0-5', '0-9')],
      {
        wrong: ['counter-1/0-5 was counted, and had failed', 'counter-1/0-9 had a reminder and was not counted'],
      },
    ],
    [
      'a call without an end at a host that has stopped',
      ['1:C 1 publish orders1-1-1'],
      { undecided: ['publish orders1-1-1 had not ended when its host had'] },
    ],
    [
      'a call that took too long at a host that was killed',
      ['0:C 1 publish orders1-0-1'],
      { undecided: ['publish orders1-0-1 took 90000 ms'] },
    ],
  ])('find %s', (_what, lines, found) => {
    expect(findingsOf(lines)).toEqual({ ...NOTHING, ...found });
  });

  test('find what is left in the store', () => {
    expect(findingsOf([], ['a message'])).toEqual({ ...NOTHING, again: ['a message'] });
  });

  test('do not mind a turn of a host that has lost the actor, and was not stored', () => {
    const turns = ['0:B 1 counter-1 0-2', '1:B 2 counter-1 1-2', '1:E 3 counter-1 1-2', '0:E 4 counter-1 0-2'];
    expect(findingsOf([...turns, counter('1-2', '-')])).toEqual(NOTHING);
  });

  test('do not count the time that a host stood still', () => {
    expect(findingsOf(['1:C 9000000 publish orders1-1-1', '1:R 61000000 publish orders1-1-1 ERR'])).toEqual(NOTHING);
  });
});
