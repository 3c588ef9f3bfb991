/** What is done with the block that has the cursor: another kind, another place, or its Markdown. */

import type { EditorView } from '@codemirror/view';
import { Button, Menu } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { duplicate, kinds, remove, turnInto } from './blocks.ts';
import { moveBlock, toggleMarkdown } from './visual.ts';

export function BlockMenu({ view }: { view: () => EditorView | null }) {
  const { t } = useTranslation('entry');
  const item = (label: string, act: (one: EditorView) => void, hint?: string) => (
    <Menu.Item
      key={label}
      rightSection={hint && <kbd>{hint}</kbd>}
      onClick={() => {
        const one = view();
        if (!one || one.state.readOnly) return;
        act(one);
        one.focus();
      }}
    >
      {label}
    </Menu.Item>
  );
  const at = (one: EditorView) => one.state.selection.main.head;
  return (
    <Menu position="bottom-start" returnFocus={false}>
      <Menu.Target>
        <Button size="compact-sm" variant="subtle" color="gray" rightSection={<IconChevronDown size={14} />}>
          {t('block')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {kinds.map((kind) =>
          item(t(`block_${kind}`), (one) => {
            const change = turnInto(one.state, at(one), kind);
            if (change) one.dispatch(change);
          }),
        )}
        <Menu.Divider />
        {item(t('block_up'), (one) => moveBlock(one, -1), 'Alt+↑')}
        {item(t('block_down'), (one) => moveBlock(one, 1), 'Alt+↓')}
        {item(t('block_duplicate'), (one) => {
          const change = duplicate(one.state, at(one));
          if (change) one.dispatch(change);
        })}
        {item(t('block_markdown'), toggleMarkdown, 'Ctrl+/')}
        <Menu.Divider />
        {item(t('block_delete'), (one) => one.dispatch(remove(one.state, at(one))))}
      </Menu.Dropdown>
    </Menu>
  );
}
