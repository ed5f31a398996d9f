package io.merganser.merge

import com.fasterxml.jackson.databind.ObjectMapper

/** The one mapper of JSON, with Jackson's defaults. It is shared: its configuration must not change. */
private[merganser] object Json extends ObjectMapper
