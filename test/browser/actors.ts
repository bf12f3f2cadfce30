import { Actor } from '../../src/index.ts';

/** A basket that is emptied after a while. */
export class Basket extends Actor<{ items: readonly string[]; password: string }> {
  put(item: string): void {
    this.state.items = [...(this.state.items ?? []), item];
    this.state.password = 'swordfish';
    this.reminders.set('expire', { dueTime: '2h', period: '2h', data: { reason: 'idle', password: 'swordfish' } });
  }

  override onReminder(): void {
    this.state.items = [];
  }
}
