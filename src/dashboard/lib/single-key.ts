import { useWindowEvent } from '@mantine/hooks';
import { useSingleKeys } from './preferences.ts';

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** A shortcut of one key, which does nothing while somebody types, in a dialog, or when the account has switched these off. */
export function useSingleKey(key: string, act: () => void): void {
  const isOn = useSingleKeys();
  useWindowEvent('keydown', (event) => {
    if (!isOn || event.key !== key || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target) || document.querySelector('[role="dialog"]')) return;
    event.preventDefault();
    act();
  });
}
