-- Load a running `s2s serve` by wrk (https://github.com/wg/wrk), which leaves the processor to it.
-- Each client sends a sentence, waits for its translation, and sends the next:
--
--     s2s serve --run RUN
--     wrk -t1 -c64 -d30s --latency -s benchmarks/serving.lua http://127.0.0.1:8000 -- sentences.txt

local requests, number = {}, 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    local text = line:gsub("[%c]", " "):gsub('[\\"]', "\\%0")
    local body = '{"text": "' .. text .. '"}'
    requests[#requests + 1] =
      wrk.format("POST", "/v1/translate", { ["Content-Type"] = "application/json" }, body)
  end
end

function request()
  number = number % #requests + 1
  return requests[number]
end
