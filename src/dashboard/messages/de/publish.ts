export default {
  version: 'Die Fassung, in der Sie arbeiten',
  publish: 'Veröffentlichen',
  resolve: 'Konflikte lösen',
  ask_for_review: 'Um Prüfung bitten',
  save_publishes: 'Was Sie speichern, wird sofort veröffentlicht.',
  save_opens_draft:
    'Was Sie speichern, eröffnet einen Entwurf; die veröffentlichte Fassung bleibt bis zum Veröffentlichen.',
  save_in_draft:
    'Was Sie speichern, kommt in diesen Entwurf; die veröffentlichte Fassung bleibt, bis Sie veröffentlichen.',
  save_never: 'Sie dürfen hier lesen, aber nichts ändern.',
  changes_one: '{{count}} Änderung',
  changes_other: '{{count}} Änderungen',
  open_site: 'Website öffnen',
  deployment_queued: '{{name}}: wartet auf die Bereitstellung',
  deployment_in_progress: '{{name}}: wird bereitgestellt',
  deployment_success: '{{name}}: live',
  deployment_failure: '{{name}}: Bereitstellung fehlgeschlagen',
  deployment_cancelled: '{{name}}: Bereitstellung abgebrochen',
  deployment_skipped: '{{name}}: nichts bereitzustellen',
  deployment_completed: '{{name}}: bereitgestellt',
  nothing: 'Nichts zu veröffentlichen',
  nothing_lead:
    'Dieser Entwurf enthält nichts, was der veröffentlichten Fassung fehlt. Ändern Sie in ihm zuerst einen Eintrag oder eine Datei.',
  title_of: 'Was veröffentlicht wird',
  title_hint: 'Eine Zeile, die es anderen sagt; sie steht in der Liste der Versionen.',
  open_review: 'Prüfung {{number}} ist offen:',
  what_changes_one: 'Was sich ändert: {{count}} Datei',
  what_changes_other: 'Was sich ändert: {{count}} Dateien',
  no_faults: 'Keine neuen Fehler: Felder passen, und Verweise führen zu Einträgen.',
  faults_one: '{{count}} Fehler würde veröffentlicht. Sie können ihn zuerst beheben oder trotzdem veröffentlichen.',
  faults_other: '{{count}} Fehler würden veröffentlicht. Sie können sie zuerst beheben oder trotzdem veröffentlichen.',
  faults_block_one:
    '{{count}} Fehler steht im Weg. Beheben Sie ihn zuerst: Dieses Projekt veröffentlicht nichts mit neuen Fehlern.',
  faults_block_other:
    '{{count}} Fehler stehen im Weg. Beheben Sie sie zuerst: Dieses Projekt veröffentlicht nichts mit neuen Fehlern.',
  more_faults: 'Es gibt mehr, als gezeigt werden.',
  checks: 'Prüfungen',
  merges: 'Er passt zur veröffentlichten Fassung.',
  merges_behind_one: 'Er passt zur veröffentlichten Fassung, die {{count}} neuere Version hat; beides bleibt.',
  merges_behind_other: 'Er passt zur veröffentlichten Fassung, die {{count}} neuere Versionen hat; beides bleibt.',
  untested:
    'Er enthält zu viel, um hier zu prüfen, ob er zur veröffentlichten Fassung passt. Beim Veröffentlichen zeigt es sich.',
  conflicts:
    'Dieselben Stellen wurden auch in der veröffentlichten Fassung geändert. Sie wählen Feld für Feld, was bleibt, bevor veröffentlicht wird.',
  afterwards: 'Danach',
  no_environment:
    'Noch keine Umgebung zeigt die veröffentlichte Fassung: Es wird zusammengeführt und nichts bereitgestellt.',
  deploys: '{{name}} wird von selbst bereitgestellt.',
  deploys_by_hand: '{{name}} zeigt die veröffentlichte Fassung, wenn jemand sie bereitstellt.',
  delete_after: 'Den Entwurf danach löschen',
  published: 'Veröffentlicht: {{name}}',
  published_deploying: '{{names, list}} wird bereitgestellt.',
};
